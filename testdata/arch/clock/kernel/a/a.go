package a

import (
	"time"
)

func f(t time.Time, wait func(time.Duration)) bool {
	_ = time.Now()       // want "clock in pure code: time.Now"
	_ = time.Since(t)    // want "time.Since"
	_ = time.Until(t)    // want "time.Until"
	time.Sleep(1)        // want "time.Sleep"
	_ = time.After(1)    // want "time.After"
	_ = time.Tick(1)     // want "time.Tick"
	_ = time.NewTimer(1) // want "time.NewTimer"
	now := time.Now      // want "time.Now"
	time.NewTicker(1)    // want "time.NewTicker"
	time.AfterFunc(1, g) // want "time.AfterFunc"
	return t.After(now())
}

func g() {}
