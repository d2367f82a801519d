package pgstore_test

import "github.com/segue-go/segue/checkpoint/pgstore"

func writeForever(c pgstore.Config, seed string) {}
func work(c pgstore.Config, name string)         {}
