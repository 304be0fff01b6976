module georep

go 1.26
