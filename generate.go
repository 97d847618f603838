package reprise

//go:generate go run ./internal/gen/errcodes
