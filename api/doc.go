// Package api is the HTTP API of Reprise in Go types: what "reprise serve"
// answers and what package client reads. The same in OpenAPI 3.1 stands beside
// in openapi.json.
//
// Numbers are integers within 2^53. Digests are lower-case hex. Times are as
// the recorder wrote them and inform only: nothing is decided by them. A
// member that is not known is absent, never zero.
package api

//go:generate go run ../internal/gen/openapi
