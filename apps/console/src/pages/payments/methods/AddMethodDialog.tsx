import { listPayPlatforms } from '@berth/contract/billing'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { FormDialog } from '../../../lists/FormDialog.tsx'
import { Answer } from '../../../ui/Answer.tsx'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import type { PayPlatform } from '../pay-platform.ts'
import { AddMethodForm } from './AddMethodForm.tsx'
import classes from './MethodsCard.module.css'

interface AddMethodDialogProps {
  opened: boolean
  onClose: () => void
}

/** Adds a card by whichever platform is offered. */
export function AddMethodDialog({ opened, onClose }: AddMethodDialogProps) {
  const { t } = useTranslation('methods')
  const platforms = useQuery({ ...queryOf(listPayPlatforms, {}), enabled: opened })
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('add.title')}>
      <Answer query={platforms} data={platforms.data} rows={3}>
        {offered => <OfPlatform platforms={offered} onClose={onClose} />}
      </Answer>
    </FormDialog>
  )
}

function OfPlatform({ platforms, onClose }: { platforms: readonly PayPlatform[]; onClose: () => void }) {
  const { t } = useTranslation(['methods', 'errors'])
  const [asked, setAsked] = useState('')
  const platform = platforms.find(one => one.platform_name === asked) ?? platforms[0]
  if (!platform) return <p>{t('errors:payments_not_set_up')}</p>
  return (
    <div className={classes.add}>
      {platforms.length > 1 && (
        <SegmentedFilter
          fill
          label={t('add.platform')}
          value={platform.platform_name}
          onChange={setAsked}
          options={platforms.map(one => ({ value: one.platform_name, label: one.display_name }))}
        />
      )}
      <AddMethodForm platform={platform} onClose={onClose} />
    </div>
  )
}
