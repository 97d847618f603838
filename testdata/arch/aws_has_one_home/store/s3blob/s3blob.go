package s3blob

import "github.com/aws/aws-sdk-go-v2/s3"

// Client is of the one package that may.
type Client = s3.Client
