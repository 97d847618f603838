package b

func f()
