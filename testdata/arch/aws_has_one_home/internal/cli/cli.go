package cli

import "github.com/aws/aws-sdk-go-v2/s3" // want "only store/s3blob speaks to S3"

// Client goes around the seam.
type Client = s3.Client
