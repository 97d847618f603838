// Package s3 stands for that of the SDK.
package s3

// Client is something to import.
type Client struct{}
