package a

import (
	"fmt"
	"io"
)

func f(w io.Writer) {
	fmt.Print("x")       // want "output in pure code: fmt.Print"
	fmt.Printf("x")      // want "fmt.Printf"
	fmt.Println("x")     // want "fmt.Println"
	_, _ = fmt.Scan()    // want "fmt.Scan"
	_, _ = fmt.Scanf("") // want "fmt.Scanf"
	_, _ = fmt.Scanln()  // want "fmt.Scanln"
	print("x")           // want "output in pure code: print"
	println("x")         // want "output in pure code: println"
	_, _ = io.Pipe()     // want "lock in pure code: io.Pipe"
	fmt.Fprintln(w, "x")
}
