package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/xdg"
	"github.com/segue-go/segue/eval"
)

// folderOf returns the folder of the results of a suite in a file; "" if there is no state folder.
func folderOf(getenv func(string) string, suite, file string) (string, error) {
	state := xdg.Folder(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	whole, err := filepath.Abs(file)
	if state == "" || err != nil {
		return "", err
	}
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '-'
		}
		return r
	}, suite)
	sum := sha256.Sum256([]byte(whole))
	return filepath.Join(state, "segue", "evals", plain+"-"+hex.EncodeToString(sum[:4])), nil
}

// kept returns the files of results in a folder, the newest first.
func kept(folder string) []string {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil
	}
	slices.Sort(files)
	slices.Reverse(files)
	return files
}

// fileIn returns the file for the results of the suite: the newest in the folder, if it is an
// evaluation of the same that did not end; then had says how many trials it has. Otherwise, or if
// anew is set, it is a new one.
func fileIn(folder string, s *eval.Suite, anew bool) (file string, had int, err error) {
	of, err := s.Digest()
	if err != nil {
		return "", 0, err
	}
	if all := kept(folder); len(all) > 0 && !anew {
		report, err := eval.ReadResults(all[0])
		if err == nil && report.Of == of && report.Done() < report.Planned {
			return all[0], report.Done(), nil
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", 0, fmt.Errorf("cannot keep the results: %w", err)
	}
	return filepath.Join(folder, time.Now().UTC().Format("20060102-150405.000")+".jsonl"), 0, nil
}

// earlier returns the results that an evaluation is compared with: a file, or "last" for the newest
// in the folder that ended, besides that of the evaluation itself.
func earlier(name, folder, own string) (*eval.Report, string, error) {
	if name != "last" {
		report, err := eval.ReadResults(name)
		return report, name, err
	}
	for _, file := range kept(folder) {
		if file == own {
			continue
		}
		if report, err := eval.ReadResults(file); err == nil && report.Done() >= report.Planned {
			return report, file, nil
		}
	}
	return nil, "", errors.New("--against last: there is no earlier evaluation of the suite that ended")
}

// compare compares the variants of two evaluations by their names. The only ones of both are
// compared whatever they are called.
func compare(old, today *eval.Report, allow eval.Allowed) (all []eval.Change, err error) {
	for _, v := range today.Variants {
		was := old.Variant(v.Name)
		if len(old.Variants) == 1 && len(today.Variants) == 1 {
			was = old.Variants[0]
		}
		if was == nil {
			continue
		}
		changes, err := eval.Compare(was, v, allow)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", v.Name, err)
		}
		all = append(all, changes...)
	}
	if all == nil {
		return nil, errors.New("the two evaluations have no variant of the same name: nothing can be compared")
	}
	return all, nil
}
