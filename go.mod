module georep

go 1.26

require (
	github.com/golang/snappy v1.0.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
