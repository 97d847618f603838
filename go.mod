module github.com/reprise-dev/reprise

go 1.26
