import { checkIn, getCheckIn } from '@berth/contract/check-in'
import { type Route, route } from '../../platform/http/handler.ts'
import type { CheckIns } from './check-ins.ts'

/**
 * The calls on the daily check-in (R1.5).
 * @param checkIns The domain.
 */
export function checkInRoutes(checkIns: CheckIns): Route[] {
  return [
    route(getCheckIn, ({ caller, query }) => checkIns.get(caller.userId, query.time_zone)),
    route(checkIn, ({ caller, body }) => checkIns.take(caller.userId, body.time_zone)),
  ]
}
