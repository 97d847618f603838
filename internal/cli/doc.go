// Package cli is the command line.
//
// [Run] is the whole program but for the process: it takes arguments, streams
// and environment and returns the exit status. Results go to standard output,
// everything said about them to standard error; with --json standard output
// holds one JSON document and nothing else.
package cli
