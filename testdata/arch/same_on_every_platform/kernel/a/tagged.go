//go:build !never

package a // want "build constraint"
