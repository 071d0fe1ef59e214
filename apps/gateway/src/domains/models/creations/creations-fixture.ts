import { systemIds } from '../../../platform/ids.ts'
import type { creation, creationItem } from './tables.ts'

const AT = new Date('2026-03-01T12:00:00Z')

/** A film of a customer's that was not made, for tests that look at what becomes of such: its run and its item. */
export function failedFilm(userId: string): {
  run: typeof creation.$inferInsert
  item: typeof creationItem.$inferInsert
} {
  const [id, modelId] = [systemIds.uuid(), 'berth/demo-video']
  return {
    run: {
      ...{
        id,
        userId,
        modelId,
        kind: 'video',
        prompt: 'A boat',
        negativePrompt: '',
        seed: 1,
        size: '640x360',
      },
      ...{ count: 1, seconds: 2, mail: false, createdAt: AT, keptUntil: new Date('2100-01-01T00:00:00Z') },
    },
    item: {
      ...{ id: systemIds.uuid(), creationId: id, userId, modelId, kind: 'video', number: 0, seed: 1 },
      ...{ status: 'failed', errorCode: 'model_call_failed', callId: systemIds.uuid() },
      ...{ createdAt: AT, endedAt: AT },
    },
  }
}
