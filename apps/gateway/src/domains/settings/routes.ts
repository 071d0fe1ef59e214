import { getSettings, getTerms } from '@berth/contract/account'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Settings } from './settings.ts'

/**
 * What every page may know before sign-in: the settings (R1.10), and the terms.
 * @param settings The domain.
 */
export function settingsRoutes(settings: Settings): Route[] {
  return [
    route(getSettings, async ({ origin }) => settings.read(origin)),
    route(getTerms, async ({ origin, language }) => settings.terms(origin, language)),
  ]
}
