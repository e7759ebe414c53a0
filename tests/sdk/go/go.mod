module github.com/headgate/headgate/tests/sdk/go

go 1.21

require (
	github.com/headgate/headgate/client/go v0.0.0
	go.uber.org/goleak v1.3.0
	go.yaml.in/yaml/v3 v3.0.4
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240814211410-ddb44dafa142
	google.golang.org/grpc v1.67.3
)

require (
	github.com/kr/text v0.2.0 // indirect
	golang.org/x/net v0.28.0 // indirect
	golang.org/x/sys v0.28.0 // indirect
	golang.org/x/text v0.17.0 // indirect
	google.golang.org/protobuf v1.36.5 // indirect
)

replace github.com/headgate/headgate/client/go => ../../../client/go
