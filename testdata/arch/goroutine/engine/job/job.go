package job

func f() {
	go f() // want "goroutine in pure code"
}
