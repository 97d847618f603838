module outside.example

go 1.26
