package a

import (
	"context"
)

func f(ctx context.Context) error {
	_ = context.Background()                 // want "a context comes from the shell"
	ctx, stop := context.WithTimeout(ctx, 1) // want "context.WithTimeout in pure code"
	stop()
	if ctx.Err() == context.Canceled {
		return context.Cause(ctx)
	}
	return nil
}
