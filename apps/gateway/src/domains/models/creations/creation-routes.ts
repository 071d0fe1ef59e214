import {
  creationArchive,
  creationOutlook,
  deleteCreation,
  getCreation,
  listCreations,
  makeImages,
  makeVideo,
  notifyCreation,
  retryCreation,
  starCreation,
  stopCreation,
  uploadPicture,
} from '@berth/contract/creations'
import type { Language } from '@berth/contract/limits'
import type { Say } from '../../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../../platform/http/handler.ts'
import type { Desk } from '../calls/desk.ts'
import type { Creations } from './creations.ts'
import type { Telling } from './show-creations.ts'

/** The calls on what customers make and keep. */
export function creationRoutes(
  creations: Creations,
  { desk, say }: { desk: Pick<Desk, 'model'>; say: Say },
): Route[] {
  const telling = (language: Language): Telling => ({ language, say: english => say(english, language) })
  const byConsole = (userId: string) => ({ userId, keyId: null })

  return [
    route(listCreations, ({ caller, query, language }) =>
      creations.page(caller.userId, query, telling(language)),
    ),
    route(creationOutlook, async ({ query }) => {
      const { kind } = desk.model(query.model, ['image', 'video'])
      return await creations.outlook(query.model, kind === 'video' ? 'video' : 'image')
    }),
    route(creationArchive, ({ caller, query }) => creations.archive(caller.userId, query.kind)),
    route(getCreation, ({ caller, params, language }) =>
      creations.get(caller.userId, params.id, telling(language)),
    ),
    route(makeImages, ({ caller, body }) => creations.makeImages(byConsole(caller.userId), body)),
    route(makeVideo, ({ caller, body }) => creations.makeVideo(byConsole(caller.userId), body)),
    route(uploadPicture, ({ caller, body }) => creations.upload(caller.userId, body)),
    route(stopCreation, async ({ caller, params, language }) => {
      await creations.stopRun(caller.userId, params.id)
      return await creations.get(caller.userId, params.id, telling(language))
    }),
    route(notifyCreation, async ({ caller, params, body, language }) => {
      await creations.setMail(caller.userId, params.id, body.mail)
      return await creations.get(caller.userId, params.id, telling(language))
    }),
    route(deleteCreation, async ({ caller, params }) => {
      await creations.removeRun(caller.userId, params.id)
      return null
    }),
    route(starCreation, ({ caller, params, body, language }) =>
      creations.star(caller.userId, params.id, body.starred, telling(language)),
    ),
    route(retryCreation, ({ caller, params }) => creations.retry(byConsole(caller.userId), params.id)),
  ]
}
