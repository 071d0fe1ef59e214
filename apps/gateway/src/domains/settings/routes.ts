import { getSettings } from '@berth/contract/account'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Settings } from './settings.ts'

/**
 * The settings call (R1.10).
 * @param settings The domain.
 */
export function settingsRoutes(settings: Settings): Route[] {
  return [route(getSettings, async ({ origin }) => settings.read(origin))]
}
