import type { Instance } from '@berth/contract/instances'
import { useTranslation } from 'react-i18next'
import { TechnicalDetail } from '../ui/TechnicalDetail.tsx'
import classes from './MachineFacts.module.css'

/** What an instance runs in place of its image's own command, and what happens when that ends. */
export function StartCommand({ instance }: { instance: Instance }) {
  const { t } = useTranslation('instances')
  return (
    <>
      <p className={`${classes.command} mono`}>{instance.start_command}</p>
      <p className={classes.then}>{t(`events_dialog.then.${instance.on_command_end}`)}</p>
    </>
  )
}

/** Which driver runs a machine, and what that one cannot do. */
export function MachineNotes({ machine }: { machine: NonNullable<Instance['machine']> }) {
  const { t } = useTranslation('instances')
  return (
    <>
      <ul className={classes.notes}>
        <li>{t('events_dialog.driver', { driver: machine.driver })}</li>
        {machine.notes.map(({ code, values }) => (
          <li key={code}>{t(`events_dialog.note.${code}`, values)}</li>
        ))}
      </ul>
      <TechnicalDetail lines={machine.notes.map(({ detail }) => detail)} />
    </>
  )
}
