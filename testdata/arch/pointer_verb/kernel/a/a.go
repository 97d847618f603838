package a

import (
	"fmt"
)

const verb = "%" + "p" // want "prints an address"

func f(x *int) {
	_ = fmt.Sprintf("at %p", x)   // want "prints an address"
	_ = fmt.Sprintf("%#[1]p", x)  // want "prints an address"
	_ = fmt.Sprintf("%"+"-8p", x) // want "prints an address"
	_ = fmt.Sprintf(verb, x)      // want "prints an address"
	_ = fmt.Sprintf("100%%p %d", 1)
	_ = fmt.Sprintf("%d percent", 1)
}
