package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/segue-go/segue/tools"
)

// task is a small task, and what shows that it was done.
type task struct {
	name, goal string
	calls      []string // a part of a call that has to be made; "|" stands between alternatives
	noCalls    bool     // no tool may be called
	answer     []string // a part of the answer, as in calls
}

// said is what every answer of a task says in which something had to be made.
var said = []string{"reated|rote|ritten|dded|cheduled|aved|been|party|vent|file|.py|.txt|one"}

// twelve are tasks that need a step or two.
var twelve = []task{
	{
		name: "add", goal: "Add 19.5 and 22.5 with the tool add. Answer with the sum.",
		calls: []string{`add{"a":19.5,"b":22.5}|add{"a":22.5,"b":19.5}`}, answer: []string{"42"},
	},
	{
		name: "chain", goal: "First add 19.5 and 22.5 with the tool add. Then add 8 to that sum with the tool add. Answer with the last sum.",
		calls: []string{`add{"a":19.5,"b":22.5}|add{"a":22.5,"b":19.5}`, `add{"a":42,"b":8}|add{"a":8,"b":42}`}, answer: []string{"50"},
	},
	{
		name: "weather", goal: "How is the weather in Bergen today?",
		calls: []string{`get_weather{"city":"Bergen`}, answer: []string{"-4|minus 4|−4"},
	},
	{
		name: "order", goal: "My order is A-23. Who carries it to me?",
		calls: []string{`order_status{"id":"A-23"}`}, answer: []string{"Bluebird"},
	},
	{
		name: "file", goal: "How many lemons does stock.txt list?",
		calls: []string{`read_file{"path":"stock.txt"|read_file{"path":"./stock.txt"`}, answer: []string{"14|fourteen"},
	},
	{
		name: "twofiles", goal: "Look into stock.txt and growers.txt. How many lemons are in stock, and who grows them?",
		calls: []string{"stock.txt", "growers.txt"}, answer: []string{"14|fourteen", "Clara"},
	},
	{
		name: "notool", goal: "Which city is the capital of Italy? Answer with its name.",
		noCalls: true, answer: []string{"Rome"},
	},
	{
		name: "parallel", goal: "Is it warmer in Lyon or in Turin? Compare the weather of both.",
		calls: []string{`get_weather{"city":"Lyon`, `get_weather{"city":"Turin`}, answer: []string{"Turin"},
	},
	{
		name: "nested", goal: "Put an event into the calendar: Garden party on 2027-05-08, with Clara and Denis.",
		calls: []string{`create_event{"title":"Garden party","date":"2027-05-08","attendees":["Clara`}, answer: said,
	},
	{
		name: "text", goal: "Write a file greet.py that prints \"good day\" once for each number from 1 to 4. Its first line is a comment.",
		calls: []string{`write_file{"path":"greet.py"|write_file{"path":"./greet.py"`, "range"}, answer: said,
	},
	{
		name: "recover", goal: "What is the status of order 61?",
		calls: []string{`order_status{"id":"61"}|order_status{"id":"A-61"}`, `order_status{"id":"A-61"}`}, answer: []string{"shipped"},
	},
	{
		name: "mixed", goal: "Look up how warm it is in Turin, and add 6 to it with the tool add. Answer with the sum.",
		calls: []string{`get_weather{"city":"Turin`, `add{"a":21,"b":6}|add{"a":6,"b":21}`}, answer: []string{"27"},
	},
}

// several are tasks whose later steps need what the earlier ones found.
var several = []task{
	{
		name: "errand", goal: "The file errand.txt names an order. Look up the status of this order, and write the name of its carrier into the file carrier.txt.",
		calls: []string{"errand.txt", `order_status{"id":"A-23"}`, `write_file{"path":"carrier.txt","text":"Bluebird|write_file{"path":"./carrier.txt","text":"Bluebird`}, answer: said,
	},
	{
		name: "total", goal: "The file bill.txt lists three prices. Add all three with the tool add, two at a time. Answer with the total.",
		calls: []string{"bill.txt", ":21.5|:29.25|:20.25"}, answer: []string{"35.5"},
	},
	{
		name: "trip", goal: "The file trip.txt names two cities. Look up the weather of each, and write the name of the colder city into the file pack.txt.",
		calls: []string{"trip.txt", `get_weather{"city":"Bergen`, `get_weather{"city":"Lyon`, `write_file{"path":"pack.txt","text":"Bergen|write_file{"path":"./pack.txt","text":"Bergen`}, answer: said,
	},
	{
		name: "invite", goal: "The file club.txt says who is in the chess club and when it meets. Create an event named Chess on that day, with all members.",
		calls: []string{"club.txt", `create_event{"title":"Chess","date":"2027-03-19","attendees":["`, "Emil", "Farah"}, answer: said,
	},
	{
		name: "trail", goal: "Begin with the file start.txt. Each file names the next one to read, until one holds a number. Add 9 to this number with the tool add, and answer with the sum.",
		calls: []string{"start.txt", "attic.txt", "chest.txt", `add{"a":31,"b":9}|add{"a":9,"b":31}`}, answer: []string{"40|forty"},
	},
	{
		name: "repair", goal: "Look up the status of order 61. Then write its status into the file note.txt, read note.txt again, and answer with what it says.",
		calls: []string{`order_status{"id":"A-61"}`, `write_file{"path":"note.txt"|write_file{"path":"./note.txt"`, `read_file{"path":"note.txt"|read_file{"path":"./note.txt"`}, answer: []string{"shipped"},
	},
}

// world is what the tools of one run work on.
type world struct {
	mu    sync.Mutex
	calls []string // name and arguments as JSON
	files map[string]string
}

func newWorld() *world {
	return &world{files: map[string]string{
		"stock.txt":   "oranges 6\nlemons 14\nlimes 9\n",
		"growers.txt": "lemons Clara\nlimes Denis\n",
		"errand.txt":  "Please look after order A-23.\n",
		"bill.txt":    "bread 6.25\ncheese 15.25\ntea 14\n",
		"trip.txt":    "Bergen\nLyon\n",
		"club.txt":    "Members: Emil, Farah\nNext meeting: 2027-03-19\n",
		"start.txt":   "Read attic.txt next.\n",
		"attic.txt":   "Read chest.txt next.\n",
		"chest.txt":   "The number is 31.\n",
	}}
}

// note notes a call. It holds the lock of the world until the tool has returned.
func (w *world) note(name string, in any) (done func()) {
	args, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	w.calls = append(w.calls, name+string(args))
	return w.mu.Unlock
}

type (
	numbers struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	place struct {
		City string `json:"city"`
		Unit string `json:"unit,omitempty" jsonschema:"celsius or fahrenheit"`
	}
	order struct {
		ID string `json:"id" jsonschema:"such as A-17"`
	}
	path struct {
		Path string `json:"path"`
	}
	content struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	event struct {
		Title     string   `json:"title"`
		Date      string   `json:"date" jsonschema:"YYYY-MM-DD"`
		Attendees []string `json:"attendees"`
	}
)

// tools are six tools that read and change the world.
func (w *world) tools() []tools.Tool {
	return []tools.Tool{
		tool(w, tools.Definition{Name: "add", Description: "Adds two numbers.", ReadOnly: true}, func(in numbers) (any, error) {
			return in.A + in.B, nil
		}),
		tool(w, tools.Definition{Name: "get_weather", Description: "Returns the weather of a city.", ReadOnly: true}, func(in place) (any, error) {
			city, _, _ := strings.Cut(in.City, ",")
			degrees, ok := map[string]int{"bergen": -4, "lyon": 16, "turin": 21}[strings.ToLower(city)]
			if !ok {
				return nil, fmt.Errorf("the weather of %q is not known", in.City)
			}
			return fmt.Sprintf("%d degrees celsius, light wind", degrees), nil
		}),
		tool(w, tools.Definition{Name: "order_status", Description: "Returns the status of an order.", ReadOnly: true}, func(in order) (any, error) {
			if !strings.HasPrefix(in.ID, "A-") {
				return nil, fmt.Errorf("no order has the id %q: ids begin with A-, such as A-%s", in.ID, in.ID)
			}
			return map[string]string{"id": in.ID, "status": "shipped", "carrier": "Bluebird"}, nil
		}),
		tool(w, tools.Definition{Name: "read_file", Description: "Returns the text of a file.", ReadOnly: true}, func(in path) (any, error) {
			text, ok := w.files[strings.TrimPrefix(in.Path, "./")]
			if !ok {
				return nil, fmt.Errorf("there is no file named %q", in.Path)
			}
			return text, nil
		}),
		tool(w, tools.Definition{Name: "write_file", Description: "Writes a file."}, func(in content) (any, error) {
			w.files[strings.TrimPrefix(in.Path, "./")] = in.Text
			return "written", nil
		}),
		tool(w, tools.Definition{Name: "create_event", Description: "Creates a calendar event."}, func(event) (any, error) {
			return "event 31 is created", nil
		}),
	}
}

func tool[In any](w *world, def tools.Definition, run func(In) (any, error)) tools.Tool {
	def.Sequential = true // the calls of one reply are made in its order, each time
	return tools.New(def, func(_ context.Context, in In) (any, error) {
		defer w.note(def.Name, in)()
		return run(in)
	})
}
