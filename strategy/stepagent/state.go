package stepagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/strategy/internal/frame"
)

const pkg = "stepagent"

// begun is what is needed to take the current step again.
type begun struct {
	state   json.RawMessage // of Config.NewState, before the step
	err     error           // why the state has no JSON form
	notes   int             // made before the step
	heard   []string        // notes that came before the step
	replies []llmclient.Response
}

// begin keeps what is needed to take the next step again.
func (s *stepAgent) begin() {
	s.begun = begun{notes: len(s.notes)}
	s.begun.state, s.begun.err = s.encodeState()
}

// encodeState returns the JSON form of the State; nil without Config.NewState.
func (s *stepAgent) encodeState() (data json.RawMessage, err error) {
	if s.NewState == nil {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = stateError(s.state, fmt.Sprintf("its encoding panicked with a %T", v))
		}
	}()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s.state); err != nil {
		return nil, stateError(s.state, err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decodeState returns a State of Config.NewState with the data of its JSON form.
func (s *stepAgent) decodeState(data json.RawMessage) (state any, err error) {
	switch {
	case (len(data) > 0) != (s.NewState != nil):
		return nil, frame.Misfit(pkg, "it has a state and the Config has no NewState, or the other way round")
	case s.NewState == nil:
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = frame.Misfit(pkg, fmt.Sprintf("the State cannot be made: it panicked with a %T", v))
		}
	}()
	made := s.NewState()
	if made == nil {
		return nil, nil
	}
	target := reflect.ValueOf(made)
	byPointer := target.Kind() == reflect.Pointer && !target.IsNil()
	if !byPointer {
		target = reflect.New(target.Type())
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(target.Interface()); err != nil {
		return nil, frame.Misfit(pkg, fmt.Sprintf("the State (%T): %v", made, err))
	}
	if byPointer {
		return made, nil
	}
	return target.Elem().Interface(), nil
}

// sameState checks that a State that was written down and read is the State of this run.
func (s *stepAgent) sameState(read any) error {
	if !reflect.DeepEqual(read, s.state) {
		return stateError(s.state, "it reads as another value: keep all of it in exported fields, or give it MarshalJSON and UnmarshalJSON")
	}
	return nil
}

func stateError(state any, problem string) error {
	return fmt.Errorf("stepagent: the memory cannot be written down: the State (%T) has no JSON form: %s", state, problem)
}
