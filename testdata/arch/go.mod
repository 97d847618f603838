module plant.example

go 1.26

require (
	github.com/aws/aws-sdk-go-v2 v0.0.0
	outside.example v0.0.0
)

replace (
	github.com/aws/aws-sdk-go-v2 => ./outside/aws
	outside.example => ./outside
)
