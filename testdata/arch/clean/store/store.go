// Package store acts: the rules of the pure rings do not bind it.
package store

import (
	"os"
	"sync"
	"time"
)

var mu sync.Mutex

func Wait(m map[string]float64) (sum float64) {
	mu.Lock()
	defer mu.Unlock()
	time.Sleep(time.Until(time.Now()))
	for k, v := range m {
		sum += v * float64(len(os.Getenv(k)))
	}
	return sum
}
