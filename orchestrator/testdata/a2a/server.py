"""An A2A server of the a2a-sdk. Its agent asks for a colour, and ends the task when it has one."""

import sys

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard
from starlette.applications import Starlette


class Painter(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
            question = updater.new_agent_message([new_text_part('Which colour?')])
            await updater.requires_input(question)
            return
        await updater.add_artifact([new_text_part('painted ' + context.get_user_input())])
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


card = AgentCard(name='painter', description='Paints.', version='1')
handler = DefaultRequestHandler(Painter(), InMemoryTaskStore(), card)
app = Starlette(routes=create_jsonrpc_routes(handler, '/'))
uvicorn.run(app, host='127.0.0.1', port=int(sys.argv[1]), log_level='warning')
