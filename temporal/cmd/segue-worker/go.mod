module github.com/segue-go/segue/temporal/cmd/segue-worker

go 1.26.0

require (
	github.com/segue-go/segue v0.1.0
	github.com/segue-go/segue/checkpoint/sqlitestore v0.1.0
	github.com/segue-go/segue/cmd/segue v0.1.0
	github.com/segue-go/segue/temporal v0.1.0
	github.com/segue-go/segue/tools/mcptools v0.1.0
	github.com/stretchr/testify v1.12.1
	go.temporal.io/sdk v1.51.0
)
