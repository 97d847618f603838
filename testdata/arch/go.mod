module plant.example

go 1.26

require outside.example v0.0.0

replace outside.example => ./outside
