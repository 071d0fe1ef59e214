import type { Language } from '@berth/contract/limits'
import { getResume, type Resume, setResume } from '@berth/contract/resume'
import type { Say } from '../../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../../platform/http/handler.ts'
import type { Instances } from '../instances.ts'

/** What starts again after money has come (B4). @param say How the catalogue's texts are said in a language. */
export function resumeRoutes(instances: Pick<Instances, 'resume' | 'setResume'>, say: Say): Route[] {
  const said = (one: Resume, language: Language): Resume => ({
    ...one,
    stopped: one.stopped.map(row => ({ ...row, gpu_spec_name: say(row.gpu_spec_name, language) })),
  })
  return [
    route(getResume, async ({ caller, language }) => said(await instances.resume(caller.userId), language)),
    route(setResume, async ({ caller, body, language }) => {
      const wanted = { byDefault: body.by_default, all: body.all }
      return said(await instances.setResume(caller.userId, wanted), language)
    }),
  ]
}
