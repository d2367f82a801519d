// Calls the agent of a segue mcp serve, and prints what it was told as JSON.
import {Client} from '@modelcontextprotocol/sdk/client/index.js'
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js'
import {ElicitRequestSchema} from '@modelcontextprotocol/sdk/types.js'

const {SEGUE, ARGS, ...env} = process.env
const told = {tools: [], progress: [], asked: 0}
const client = new Client({name: 'test', version: '1'}, {capabilities: {elicitation: {}}})
client.setRequestHandler(ElicitRequestSchema, async () => {
  told.asked++
  return {action: 'decline'}
})
await client.connect(new StdioClientTransport({command: SEGUE, args: JSON.parse(ARGS), env, stderr: 'inherit'}))
told.tools = (await client.listTools()).tools.map(tool => tool.name)

async function call(args, options = {}) {
  const result = await client.callTool({name: 'helper', arguments: args}, undefined, options)
  return result.content[0].text
}
told.slow = await call({task: 'Wait'}, {
  timeout: 9000, resetTimeoutOnProgress: true, onprogress: p => told.progress.push(p.message),
})
told.wrong = await call({task: 5})
told.unknown = await call({task: 'x', zzz: 1})
told.declined = await call({task: 'Write'})
await client.close()
console.log(JSON.stringify(told))
