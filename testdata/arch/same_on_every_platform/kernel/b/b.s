TEXT ·f(SB), 4, $0-0 // want "not in every build"
	RET
