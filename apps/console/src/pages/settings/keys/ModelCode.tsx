import { modelCode } from '@berth/contract/model-code'
import { CHAT_KINDS, listModels } from '@berth/contract/models'
import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { readCurrency } from '../../../app/session/session-storage.ts'
import { CallCode } from '../../../models/CallCode.tsx'
import { CopyText } from '../../../ui/CopyText.tsx'
import { useFormat } from '../../../ui/format.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './Keys.module.css'

/** How a program calls a model with a key: the address, and a call in three languages (B10, B11). Nothing without models. */
export function ModelCode() {
  const { t } = useTranslation('keys')
  const format = useFormat()
  const { data = [] } = useQuery(queryOf(listModels, {}))
  const models = data.filter(({ kind }) => CHAT_KINDS.includes(kind))
  const [chosen, setChosen] = useState<string | null>(null)
  const model = models.find(({ id }) => id === chosen) ?? models[0]
  if (!model) return null
  const currency = readCurrency()
  return (
    <SectionCard title={t('use.title')} lead={t('use.lead')}>
      <div className={classes.use}>
        <p>
          {t('use.address')} <CopyText mono label={t('use.address')} value={`${window.location.origin}/v1`} />
        </p>
        <Select
          label={t('use.model')}
          description={t('use.price', {
            input: format.money(model.input_micro_per_million, currency),
            output: format.money(model.output_micro_per_million, currency),
          })}
          data={models.map(({ id, name }) => ({ value: id, label: name === id ? id : `${name} · ${id}` }))}
          value={model.id}
          onChange={setChosen}
          allowDeselect={false}
        />
        {model.demo && <p className={classes.note}>{t('use.demo')}</p>}
        <CallCode
          calls={[{ codeOf: (tool, url) => modelCode(tool, { url, model: model.id }) }]}
          saysKeys={false}
        />
      </div>
    </SectionCard>
  )
}
