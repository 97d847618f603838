package a

import (
	"context"
)

type queue chan int // want "channel type"

func f(ctx context.Context, in queue) {
	in <- 1        // want "channel send"
	<-ctx.Done()   // want "channel receive"
	for range in { // want "channel receive"
	}
	_ = make(chan struct{}) // want "channel type"
	_ = ctx.Err()
}
