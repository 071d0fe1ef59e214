import { followInstances, type InstancesEvent } from '@berth/contract/instance-follow'
import { type Instance, listInstances } from '@berth/contract/instances'
import { followCall } from '../../../../test/follow-call.ts'
import { sendCall } from '../../../../test/start-gateway.ts'

/** A customer who follows their instances. */
export type Following = Awaited<ReturnType<typeof followOwn>>

/**
 * Follows a customer's instances as a console does: it reads them when it is told to, and puts what it hears on top.
 * @param origin The gateway that is followed.
 * @param readFrom The one that is read from, where that is another.
 * @throws Error that names the code of a refusal.
 */
export async function followOwn(
  origin: string,
  { token, language, readFrom = origin }: { token: string; language?: string; readFrom?: string },
) {
  let known = new Map<string, Instance>()
  const heard: Instance[] = []
  let reads: Promise<void> = Promise.resolve()
  /** What was heard since the reading that is under way began; null while none is. */
  let since: InstancesEvent[] | null = null

  async function read(): Promise<void> {
    since = []
    const { envelope } = await sendCall(readFrom, listInstances, {}, { token })
    // Whoever may not read any more hears so from what they follow, too.
    if (envelope.status === 'error') return
    known = new Map(envelope.data.map(one => [one.instance_id, one]))
    for (const event of since) put(event)
    since = null
  }
  function put({ instances, gone }: InstancesEvent): void {
    for (const one of instances) known.set(one.instance_id, one)
    for (const id of gone) known.delete(id)
  }

  const from = { token, ...(language !== undefined && { language }) }
  const call = await followCall(origin, followInstances, from, event => {
    heard.push(...event.instances)
    put(event)
    since?.push(event)
    if (!event.reread || event.ended !== null) return
    reads = reads.then(read)
    // A gateway that ends cuts the reading off. Who waits for it hears so; a test that is over waits for nothing.
    reads.catch(() => {})
  })
  return {
    ...call,
    /** Each instance as it was told, in order. */
    heard,
    /** What it takes the instances to be, by id. */
    known: () => known,
    /** When what it was told to read is read; throws what the first reading that failed threw. */
    hasRead: () => reads,
    /** Why it ended, once it has. */
    ended: async (): Promise<InstancesEvent['ended'] | undefined> => (await call.last())?.ended,
  }
}
