# Runs a soak of a broken engine, which has to find that it is broken; a crash is found as well.
execute_process(COMMAND ${MUTANT} --programs 30000 --stop RESULT_VARIABLE result OUTPUT_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "not caught: ${output}")
endif()
message("caught: ${result} ${output}")
