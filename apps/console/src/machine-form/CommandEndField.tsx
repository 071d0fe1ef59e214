import { COMMAND_END_RULES, type CommandEndRule } from '@berth/contract/instances'
import { useTranslation } from 'react-i18next'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import fold from './Fold.module.css'

/**
 * What is to happen when the start command ends.
 * @param field The form's field of it.
 */
export function CommandEndField({
  field: { value, onChange },
}: {
  field: { value?: CommandEndRule; onChange: (rule: CommandEndRule) => void }
}) {
  const { t } = useTranslation('deploy')
  const rule = value ?? COMMAND_END_RULES[0]
  return (
    <div className={fold.wide}>
      <span className={fold.label} aria-hidden="true">
        {t('start.on_command_end')}
      </span>
      <SegmentedFilter
        label={t('start.on_command_end')}
        value={rule}
        onChange={onChange}
        options={COMMAND_END_RULES.map(one => ({ value: one, label: t(`start.command_end.${one}`) }))}
      />
      <p className={fold.note}>{t(`start.command_end_note.${rule}`)}</p>
    </div>
  )
}
