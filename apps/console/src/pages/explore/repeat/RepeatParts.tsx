import { addDeployTemplate } from '@berth/contract/deploy-templates'
import { type DeployBody, deployBody } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { IconCode, IconTemplate } from '@tabler/icons-react'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type * as z from 'zod'
import { lazyPart } from '../../../app/lazy-part.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import classes from './RepeatParts.module.css'

const SaveTemplateDialog = lazyPart(() =>
  import('./SaveTemplateDialog.tsx').then(module => module.SaveTemplateDialog),
)
const CodeDialog = lazyPart(() => import('./CodeDialog.tsx').then(module => module.CodeDialog))

interface RepeatPartsProps {
  /** What the form would send now; null where a field of it breaks a rule, which is then said at the field. */
  read: (form: HTMLFormElement | null) => z.input<typeof deployBody> | null
}

/** What can be done with a form besides deploying it: it is kept as a template, or shown as the same call. */
export function RepeatParts({ read }: RepeatPartsProps) {
  const { t } = useTranslation('deploy')
  const [asked, setAsked] = useState<{ what: 'template' | 'code'; body: DeployBody } | null>(null)
  const [opened, setOpened] = useState(false)
  const ask = (what: 'template' | 'code', form: HTMLFormElement | null) => {
    const body = read(form)
    if (!body) return
    setAsked({ what, body: deployBody.parse(body) })
    setOpened(true)
  }
  const dialog = { opened, onClose: () => setOpened(false) }
  return (
    <div className={classes.parts}>
      <VerifiedButton
        call={addDeployTemplate}
        variant="default"
        leftSection={<IconTemplate size={16} stroke={1.6} aria-hidden="true" />}
        onClick={event => ask('template', event.currentTarget.form)}
      >
        {t('template.save_as')}
      </VerifiedButton>
      <Button
        variant="default"
        leftSection={<IconCode size={16} stroke={1.6} aria-hidden="true" />}
        onClick={event => ask('code', event.currentTarget.form)}
      >
        {t('code.show')}
      </Button>
      <Suspense>
        {asked?.what === 'template' && <SaveTemplateDialog setup={asked.body} {...dialog} />}
        {asked?.what === 'code' && <CodeDialog body={asked.body} {...dialog} />}
      </Suspense>
    </div>
  )
}
