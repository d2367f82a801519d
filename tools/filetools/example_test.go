package filetools_test

import (
	"context"
	"fmt"
	"os"

	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/filetools"
)

func Example() {
	dir, err := os.MkdirTemp("", "filetools")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	defer root.Close()
	set, err := tools.NewSet(filetools.New(root, filetools.Config{})...)
	if err != nil {
		panic(err)
	}

	call := func(name, arguments string) {
		tool, _ := set.Lookup(name)
		text, err := tool.Call(context.Background(), arguments)
		fmt.Println(text, err)
	}
	call("write_file", `{"path":"notes/a.txt","content":"one\ntwo\n"}`)
	call("search_files", `{"pattern":"^t"}`)
	call("read_file", `{"path":"../a.txt"}`)
	// Output:
	// 8 bytes written to notes/a.txt <nil>
	// notes/a.txt:2: two
	//  <nil>
	//  filetools: "../a.txt" is outside the folder: give a path relative to it
}
