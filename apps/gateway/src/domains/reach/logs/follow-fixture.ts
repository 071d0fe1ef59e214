import { followInstanceLogs, type LogEvent } from '@berth/contract/instance-page'
import { followCall } from '../../../../test/follow-call.ts'
import { eventually } from '../reach-fixture.ts'

/** A log that a test follows. */
export type FollowedLog = Awaited<ReturnType<typeof followLog>>

/**
 * Follows a log as a console does.
 * @param token Whose it is, as the fixture's server knows them.
 * @throws Error that names the code of a refusal.
 */
export async function followLog(origin: string, instanceId: string, token: string) {
  let lines = ''
  let open = ''
  let skipped = 0
  const from = { token, params: { id: instanceId } }
  const { headers, events, last, leave } = await followCall(origin, followInstanceLogs, from, event => {
    for (const line of event.lines) lines += `${line}\n`
    open = event.open
    skipped += event.skipped
  })
  const text = () => lines + open
  return {
    type: headers.get('content-type'),
    events,
    text,
    skipped: () => skipped,
    shows: (pattern: RegExp) => eventually(`${pattern}`, () => pattern.test(text())),
    /** Why it ended, once it has. */
    ended: async (): Promise<LogEvent['ended'] | undefined> => (await last())?.ended,
    leave,
  }
}
