import { getResume, setResume } from '@berth/contract/resume'
import { Switch } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { told, useChange } from '../../../api/use-change.ts'
import { useOffFor } from '../../../app/session/use-off-for.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { toast } from '../../../ui/toast.ts'
import { SectionCard } from '../SectionCard.tsx'

/** Whether instances that are deployed from now on start again by themselves after a top-up (B4). */
export function ResumeDefault() {
  const { t } = useTranslation('resume')
  const query = useQuery(queryOf(getResume, {}))
  const set = useChange(setResume)
  const offFor = useOffFor(setResume)
  const turn = async (by_default: boolean) => {
    await set.send({ body: { by_default, all: false } })
    toast.good(t('default_saved'))
  }
  return (
    <SectionCard title={t('title')} lead={t('what')}>
      <Answer query={query} data={query.data} rows={1}>
        {({ by_default }) => (
          <Switch
            label={t('default')}
            description={offFor ?? t('default_note')}
            checked={by_default}
            disabled={offFor !== null || set.busy}
            onChange={() => void turn(!by_default).catch(told)}
          />
        )}
      </Answer>
    </SectionCard>
  )
}
