import { followInstances } from '@berth/contract/instance-follow'
import { type Route, route } from '../../../platform/http/handler.ts'
import type { Followers } from './followers.ts'

/** The call that tells of changes by itself. */
export function followRoutes(followers: Pick<Followers, 'follow'>): Route[] {
  return [
    route(followInstances, ({ caller: { userId, sessionId }, address, language }) =>
      followers.follow({ userId, sessionId, address, language }),
    ),
  ]
}
