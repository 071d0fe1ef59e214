import { getNotifications, setNotifications } from '@berth/contract/notifications'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Notifications } from './notifications.ts'

/**
 * Which mails a customer wants (R1.7).
 * @param notifications The domain.
 */
export function notificationsRoutes(notifications: Notifications): Route[] {
  return [
    route(getNotifications, ({ caller }) => notifications.get(caller.userId)),
    route(setNotifications, ({ caller, body }) => notifications.set(caller.userId, body)),
  ]
}
