package a

import (
	"time"
)

func f(t time.Time) {
	_ = t.In(time.Local)            // want "environment in pure code: time.Local"
	_ = t.Local()                   // want "Local"
	_, _ = time.LoadLocation("CET") // want "time.LoadLocation"
	_ = time.Unix(1, 0)             // want "time.Unix is in the local zone"
	_ = time.UnixMilli(1).Add(1)    // want "time.UnixMilli is in the local zone"
	_ = time.UnixMicro              // want "time.UnixMicro is in the local zone"
	_ = time.Unix(1, 0).UTC()
	_ = t.Unix()
}
