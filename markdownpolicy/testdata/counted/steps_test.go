package markdownpolicy

import "github.com/segue-go/segue/markdownpolicy/internal/counted"

func init() { Steps = counted.Steps }
